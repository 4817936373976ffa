"""The vLLM adapter: on a recorded engine here, and on a real one where vllm is installed (`.ci/vllm`)."""
