/// What a write transaction has asked the file once, and goes by since.
struct AskedOnce {
  /// Whether anything waits for its message.
  var someWait: Bool?
  /// Whether anything was forgotten in this file.
  var someForgotten: Bool?
  /// Whether any operation is open, and whether any send is.
  var someOpen: Bool?
  var someSends: Bool?
  /// The operation that was read or saved last: an answer asks for it again and again.
  var operation: OperationRecord?
  /// Rows that the connection had written when it began; it wraps.
  var changesAtBegin: Int32 = 0
  /// How many items are set aside, until some go.
  var quarantinedCount: Int64?
  /// Whether the last message was new, for then the next one mostly is. A wrong guess costs
  /// time only.
  var mostAreNew = true
}
