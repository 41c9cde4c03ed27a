/// How our result for one row compares with its source's.
enum Outcome: Hashable {
    /// The same verdict, and the same values where the row states them.
    case agreed
    /// We refuse what the source accepts; the rule we go by.
    case stricter(rule: String)
    /// We accept what the source refuses, or see another end of a message: never allowed.
    case laxer(detail: String)
    /// Both accept, but values differ.
    case wrongFields(detail: String)
    /// The row asks for something that is not in the bytes: a limit, list or option of the source's own.
    case notComparable(reason: String)

    var kind: String {
        switch self {
        case .agreed: "agreed"
        case .stricter: "stricter"
        case .laxer: "laxer"
        case .wrongFields: "wrong fields"
        case .notComparable: "not comparable"
        }
    }

    var detail: String {
        switch self {
        case .agreed: ""
        case .stricter(let text), .laxer(let text), .wrongFields(let text), .notComparable(let text): text
        }
    }
}
