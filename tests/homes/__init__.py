"""Tests of realestate/homes."""
