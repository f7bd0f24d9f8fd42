"""Published numbers beside ours: a folder with reproduction.json becomes a page with graphs."""
