"""The files of a run as records: each may be a stranger's and is checked here."""
