import Foundation

enum ReadmeOfNetDiag {
    static var url: URL { URL(fileURLWithPath: "/") }
}
