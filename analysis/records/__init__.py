"""What a run wrote, as records: everything is a stranger's file and is checked here."""
