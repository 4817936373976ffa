"""Vendors' own protocols through the litellm library: `--model litellm`.

adapter    the model: the one for OpenAI's protocol, with another way to its server
bridge     a request in OpenAI's form, asked through litellm, and answered in OpenAI's form
endings    how a vendor's reply says that it ended
"""
