"""What a person can do, one function each: the pages, the command line and the library call it and nothing below."""
