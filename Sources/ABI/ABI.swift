/// The room ABI.
