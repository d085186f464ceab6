/// Tells a process from the one that it was forked from.
///
/// A child has copies of its parent's memory and descriptors, but not its threads and not its
/// locks on files. So an object of the parent must not be used there, nor closed.
internal import BaseC

package enum Forks {
  /// Another number in a child than in its parent. It costs no system call.
  package static var count: UInt32 { tideline_forks() }

  /// Keeps what a child gives up of its parent's in reach, and gives what it gave up before: who
  /// looks for leaks finds none.
  package static func leave(_ block: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    unsafe tideline_leave(block)
  }
}
