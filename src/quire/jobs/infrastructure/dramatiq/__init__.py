"""Messages by Dramatiq, over Redis or RabbitMQ."""
