"""Parts that several commands use: reading files, printing errors."""
