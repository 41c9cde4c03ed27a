import Foundation
import NetDiag

enum NetDiagFirstFiveMinutes {
    static var stream: ReadStream { ReadStream(bytes: []) }
    static var diagnosis: Diagnosis { preconditionFailure("only compiled") }
}
