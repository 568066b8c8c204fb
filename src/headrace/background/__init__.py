"""Data beside the streams: remote endpoints, and later static datasets and local views."""
