"""What `import tcplab.NAME` finds in a checkout; a wheel has the files in `tcplab` itself."""
