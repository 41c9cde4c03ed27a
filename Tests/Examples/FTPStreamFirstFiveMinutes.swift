import FTPStream
import Foundation

enum FTPStreamFirstFiveMinutes {
    static var password: String { "" }
    static var bytes: [UInt8] { [] }
    static var client: FTPClient { preconditionFailure("only compiled") }
}
