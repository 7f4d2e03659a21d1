"""Arrays that callers pass: dtypes, views, DLPack, and limits of their sizes."""
