import Foundation
import FTPStream

enum FTPStreamFirstFiveMinutes {
    static var password: String { "" }
    static var bytes: [UInt8] { [] }
    static var client: FTPClient { preconditionFailure("only compiled") }
}
