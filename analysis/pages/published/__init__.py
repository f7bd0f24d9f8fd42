"""Published numbers beside ours: a folder with reproduction.json becomes a page, a table and
graphs.
"""
