import Foundation

enum HTTPStreamPage {
    static var url: URL { URL(fileURLWithPath: "/") }
}
