-- For the profile `demo` only: simulated listings must not be stored with real ones.
CREATE DATABASE demo;
