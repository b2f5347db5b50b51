"""Text as bytes: encodings, lines, exact edits, diffs; nothing here does I/O."""
