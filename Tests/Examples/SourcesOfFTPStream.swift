import FTPListing
import FTPStream

enum SourcesOfFTPStream {
    static var client: FTPClient { preconditionFailure("only compiled") }
    static var stream: ReadStream { ReadStream(bytes: []) }
    static var password: String { "" }
    static var now: Int64 { 0 }
    static var field: ArraySlice<UInt8> { [] }
    static var bytes: [UInt8] { [] }
    nonisolated(unsafe) static var received: ArraySlice<UInt8> = []
    nonisolated(unsafe) static var buffer: [UInt8] = []
}
