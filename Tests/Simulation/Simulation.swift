// The simulator.
