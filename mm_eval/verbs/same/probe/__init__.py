"""The probe set: 200 documents that show what sellers, builds and engines change without saying so. Drawn when they are asked."""
