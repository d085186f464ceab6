import ArgumentParser
import NIOPosix
import NIOWebSocket

print("x")
