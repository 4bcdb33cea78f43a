"""What keeps an installation: its examination, copies of it, and copies brought back."""
