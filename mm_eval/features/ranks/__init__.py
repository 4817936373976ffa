"""Many processes, one run: what `torchrun -m mm_eval`, `accelerate launch -m mm_eval` and trainings on several GPUs start."""
