/// What a test sees of an engine's transactions. The library has none.

/// It may have one fail, and looks at what the process knows before it and after.
package protocol CommitWatch: AnyObject, Sendable {
  /// A transaction begins: true where its COMMIT is to fail as on a full disk.
  func begins(_ engine: AnyObject) -> Bool
  /// One has failed, and the engine is as it is left.
  func failed(_ engine: AnyObject)
}
