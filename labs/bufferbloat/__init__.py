"""The lab about bufferbloat and active queues."""
