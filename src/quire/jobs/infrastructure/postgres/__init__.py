"""The engine on PostgreSQL 15 to 18. Every statement is named and described in `sql/`."""
