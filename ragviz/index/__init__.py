"""Documents to an index: cut, embedded, stored, checked, brought up to date."""
