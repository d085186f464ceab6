// The reference server's logic.
