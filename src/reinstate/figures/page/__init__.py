"""Recorded results → one self-contained HTML page that opens offline."""

from reinstate.figures.page.documents import Document, load, results_in
from reinstate.figures.page.frame import require_page
from reinstate.figures.page.page import page_of, write_page

__all__ = ["Document", "load", "page_of", "require_page", "results_in", "write_page"]
