extension Diagnosis: Encodable {
    /// The version of the JSON form. It increases when a field changes its meaning or is removed.
    public static let schemaVersion = 1

    private enum Key: String, CodingKey {
        case schema, target, status, cause, consequences, remarks, unchecked, uncheckable, families
    }

    /// Encodes the form that <doc:DiagnosisJSON> describes.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(Diagnosis.schemaVersion, forKey: .schema)
        try container.encode(target, forKey: .target)
        try container.encode("\(status)", forKey: .status)
        try container.encodeIfPresent(cause, forKey: .cause)
        try container.encode(consequences, forKey: .consequences)
        try container.encode(remarks, forKey: .remarks)
        try container.encode(unchecked.map(\.description), forKey: .unchecked)
        try container.encode(uncheckable.map(\.description), forKey: .uncheckable)
        try container.encode(families, forKey: .families)
    }
}

extension Finding: Encodable {
    private enum Key: String, CodingKey {
        case code, rung, severity, sentence, key, advice, evidence, dependsOn
    }

    /// Encodes the form that <doc:DiagnosisJSON> describes.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(code.rawValue, forKey: .code)
        try container.encode("\(rung)", forKey: .rung)
        try container.encode("\(severity)", forKey: .severity)
        try container.encode("\(sentence)", forKey: .sentence)
        try container.encode(sentence.key, forKey: .key)
        try container.encode("\(advice)", forKey: .advice)
        try container.encode(evidence, forKey: .evidence)
        try container.encodeIfPresent(dependsOn?.rawValue, forKey: .dependsOn)
    }
}

extension FamilyVerdict: Encodable {
    private enum Key: String, CodingKey {
        case family, state, cause
    }

    /// Encodes the form that <doc:DiagnosisJSON> describes.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(name, forKey: .family)
        try container.encode(state.rawValue, forKey: .state)
        try container.encodeIfPresent(finding?.code.rawValue, forKey: .cause)
    }
}
