import Foundation
import NetDiag

enum SourcesOfNetDiag {
    static var url: URL { URL(fileURLWithPath: "/") }
    static var stream: ReadStream { ReadStream(bytes: []) }
    static var error: StreamError { .closed }
    static var diagnosis: Diagnosis { preconditionFailure("only compiled") }
    static var diagnostic: NetDiagnostic { preconditionFailure("only compiled") }
    static func show(_ finding: Sentence, _ step: Sentence) {}
}
