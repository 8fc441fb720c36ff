"""YAML strings: one reader (plain values, or nodes with positions) and one editor that keeps every other byte."""
