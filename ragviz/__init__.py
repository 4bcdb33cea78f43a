"""ragviz shows where a RAG system loses answers, and whether a change really helped."""

__version__ = "0.1.0"
