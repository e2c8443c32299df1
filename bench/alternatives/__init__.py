"""The same job done by what people would use instead: a queue in a PostgreSQL table, and Celery with Redis."""
