/// How long a test that takes seconds goes on.
import Glibc

/// The rounds of a long test: a share of `full`, and at least `least`, which have to be enough to
/// find what the test is for.
///
/// `TL_ROUNDS` in the environment gives the share in twentieths: 1 where it is not set, as in
/// `make test`; 20 is all, as in `make nightly`. Only tests of more than a second ask.
public func rounds(_ full: Int, least: Int) -> Int {
  let twentieths = getenv("TL_ROUNDS").flatMap { Int(String(cString: $0)) } ?? 1
  return min(full, max(least, full * max(1, min(20, twentieths)) / 20))
}
