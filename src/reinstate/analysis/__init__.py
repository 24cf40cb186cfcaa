"""Record → numbers. No plotting here."""
