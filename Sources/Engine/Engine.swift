/// The room Engine.
