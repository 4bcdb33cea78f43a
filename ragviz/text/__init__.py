"""Texts: their language, words, sentences and key phrases; markup read, and made safe to show."""
