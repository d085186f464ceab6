/// What a read says of a range of a log: as of which entry it is whole.
package import Timeline

package struct LogCertificate {
  let rx: ReadTransaction

  package init(_ rx: ReadTransaction) { self.rx = rx }

  /// The last entry of the range that holds a place: content, deletions and annotations of all its
  /// messages are as of that one (rule 27). Nil where nothing is claimed of the place.
  package func top(
    above position: Position, in cid: Int64
  ) throws(StoreFailure) -> (id: [UInt8], timeUs: Int64?)? {
    let row = try rx.connection.statement(
      """
      SELECT entry.id, entry.time FROM log_range JOIN entry
        ON entry.cid = log_range.cid AND entry.place = log_range.high
      WHERE log_range.cid = ?1 AND low <= ?2 AND high >= ?2
        AND log_range.flags & 1 /* LogRanges.isUnverified */ = 0
      """, cid, position.place)
    return try row.step() ? (row.bytes(0), row.optionalInt(1)) : nil
  }
}
