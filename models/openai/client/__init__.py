"""The client of a server with OpenAI's protocol: questions, connections, and what replies say."""
