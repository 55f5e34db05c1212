-- For the profile `demo` alone: simulated listings never stand beside real ones.
CREATE DATABASE demo;
