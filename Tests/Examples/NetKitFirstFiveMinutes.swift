import Foundation
import NetKit

enum NetKitFirstFiveMinutes {
    static var url: URL { URL(fileURLWithPath: "/") }
    static var stream: ReadStream { ReadStream(bytes: []) }
}
