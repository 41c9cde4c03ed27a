import Foundation
import NetKit

enum HTTPStreamFirstFiveMinutes {
    static var url: URL { URL(fileURLWithPath: "/") }
    static var stream: ReadStream { ReadStream(bytes: []) }
}
