"""Tests of realestate/market."""
