/// One connected client, whichever transport it came by.

import NIOCore
import NIOWebSocket

final class Connection {
  enum Transport { case lines, webSocket }

  private let channel: any Channel
  private let transport: Transport
  var user: String?
  /// The queues of pushes by account, once the user is known.
  var queues: [(account: String, token: Int)] = []
  /// Frames whose delay is not over, the oldest first: order survives the delay.
  private var delayed: [[UInt8]] = []
  private var unsentBytes = 0
  /// A client that reads nothing is cut off before it fills the memory.
  private static let unsentMax = 64 << 20

  init(_ channel: any Channel, _ transport: Transport) {
    self.channel = channel
    self.transport = transport
  }

  func send(_ frame: [UInt8], afterMs: Int) {
    guard unsentBytes + frame.count <= Connection.unsentMax else { return close() }
    unsentBytes += frame.count
    guard afterMs > 0 else { return write(frame) }
    delayed.append(frame)
    let me = NIOLoopBound(self, eventLoop: channel.eventLoop)
    channel.eventLoop.scheduleTask(in: .milliseconds(Int64(afterMs))) {
      let connection = me.value
      guard !connection.delayed.isEmpty else { return }
      connection.write(connection.delayed.removeFirst())
    }
  }

  private func write(_ frame: [UInt8]) {
    var buffer = channel.allocator.buffer(capacity: frame.count + 1)
    buffer.writeBytes(frame)
    let written: EventLoopFuture<Void>
    switch transport {
    case .lines:
      buffer.writeInteger(UInt8(ascii: "\n"))
      written = channel.writeAndFlush(buffer)
    case .webSocket:
      written = channel.writeAndFlush(WebSocketFrame(fin: true, opcode: .text, data: buffer))
    }
    let me = NIOLoopBound(self, eventLoop: channel.eventLoop)
    let count = frame.count
    written.whenComplete { _ in me.value.unsentBytes -= count }
  }

  func close() {
    channel.close(promise: nil)
  }
}
