"""Recorded results → one self-contained HTML page that opens offline."""

from reinstate.report.finding import load
from reinstate.report.page import page_of, write_page
from reinstate.report.replaceable import require_report
from reinstate.report.sources import Document

__all__ = ["Document", "load", "page_of", "require_report", "write_page"]
