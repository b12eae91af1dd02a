-- `counterfoil why ID` shows what operators were refused about a thing. A refusal is a
-- stream of its own that names its target in its data; every other event passes this
-- index by.
CREATE INDEX events_refused_target ON counterfoil.events ((data->>'target'))
    WHERE type = 'operator.action_refused';
